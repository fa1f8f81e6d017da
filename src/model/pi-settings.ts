/** The member of Pi's `settings.json`, the user's and a project's, that is the extension's. */
export const PI_SETTINGS_MEMBER = "pi-workflows";
/** A project's settings of Pi, relative to the project: one of the files for which Pi asks whether the project is trusted. */
export const PI_PROJECT_SETTINGS = ".pi/settings.json";

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
    about: "The model may apply specs without asking; only in a project's settings",
    projectOnly: true,
  },
  answerWithoutConfirmation: {
    default: false,
    about: "The model may answer checkpoints without asking; only in a project's settings",
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
