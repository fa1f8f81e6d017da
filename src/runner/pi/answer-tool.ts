/** The tool by which an agent answers. */
export const ANSWER_TOOL = "submit_result";

/** Names the file with the tool's parameters to the extension; a schema may hold what is private. */
export const ANSWER_FILE = "PI_WORKFLOWS_ANSWER_FILE";

/** Names the folder that the agent's tools for files are kept in; not there where they are not. */
export const KEPT_IN = "PI_WORKFLOWS_AGENT_FOLDER";
