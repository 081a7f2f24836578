"""Print `name==floor` for every dependency, extra and test package of pyproject.toml: constraints for pip."""

import re
import sys
import tomllib
from pathlib import Path

declared = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
project = declared["project"]
wanted = [*project["dependencies"], *declared["dependency-groups"]["test"]]
wanted += [each for extra in project["optional-dependencies"].values() for each in extra]
for requirement in wanted:
    name, _, floor = re.sub(r"\[.*?\]", "", requirement).partition(">=")
    if name != project["name"]:  # an extra that is made of others
        sys.stdout.write(f"{name}=={floor}\n")  # without a floor pip stops at "name=="
