"""The examples of the pages are tests; what the site builder wrote is not."""

collect_ignore = ["_build", "gallery"]
