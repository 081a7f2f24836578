"""`mercer lab`: a page on this machine where people play with kernels and see what changes."""
