/** A project's settings of the extension, relative to the project. */
export const PI_SETTINGS_FILE = ".pi/pi-workflows.json";

type Setting = { default: boolean; about: string; projectOnly?: true };

/** Everything that can be set of the extension. */
export const PI_SETTINGS = {
  statusLine: { default: true, about: "The line that counts resources by how far they are" },
  widget: { default: true, about: "The list of what is not ready, above the editor" },
  notices: {
    default: true,
    about: "What became of the resources that a session applied, told in that session",
  },
  applyWithoutConfirmation: {
    default: false,
    about: "The model may apply specs without asking; only in a project's file",
    projectOnly: true,
  },
  answerWithoutConfirmation: {
    default: false,
    about: "The model may answer checkpoints without asking; only in a project's file",
    projectOnly: true,
  },
} satisfies Record<string, Setting> as Readonly<Record<SettingName, Setting>>;

type SettingName =
  | "statusLine"
  | "widget"
  | "notices"
  | "applyWithoutConfirmation"
  | "answerWithoutConfirmation";

export type PiSettings = Record<SettingName, boolean>;
