"""Times how another toolbox finds the skills of a folder and makes its tools, once for
each line read. Prints the seconds and how many skills it has found."""

import sys
import time
from pathlib import Path


def llm_tools_skills(tree):
    from llm_tools_skills import Skills

    # It has two tools for each skill.
    return len(list(Skills(str(tree)).tools())) // 2


def loomflow(tree):
    from loomflow.skills import SkillRegistry

    registry = SkillRegistry([tree])
    registry.catalog_section()
    return len(registry)


discover = {"llm-tools-skills": llm_tools_skills, "loomflow": loomflow}[sys.argv[1]]
tree = Path(sys.argv[2])
for _ in sys.stdin:
    start = time.perf_counter()
    found = discover(tree)
    print(time.perf_counter() - start, found, flush=True)
