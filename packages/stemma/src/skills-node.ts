export { type FileSkillOptions, FileSkillProvider, type SkillProblem } from "@stemma/session/skills-node";
