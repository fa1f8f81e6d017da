/**
 * Variables by which model providers know who asks: Pi gets them, and runners, the commands of
 * workflows and resolvers do not. Those that are also for other things (`GITHUB_TOKEN`, the clouds'
 * general credentials) are not here: runners keep them, and Pi gets them only where `pi.env` of
 * `config.json` names them, which takes them from runners.
 */
export const PROVIDER_VARIABLES = [
  "AI_GATEWAY_API_KEY",
  "ANT_LING_API_KEY",
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "ANTHROPIC_FEDERATION_RULE_ID",
  "ANTHROPIC_IDENTITY_TOKEN_FILE",
  "ANTHROPIC_OAUTH_TOKEN",
  "ANTHROPIC_ORGANIZATION_ID",
  "ANTHROPIC_SERVICE_ACCOUNT_ID",
  "ANTHROPIC_WORKSPACE_ID",
  "AWS_BEARER_TOKEN_BEDROCK",
  "AZURE_OPENAI_API_KEY",
  "AZURE_OPENAI_API_VERSION",
  "AZURE_OPENAI_BASE_URL",
  "AZURE_OPENAI_DEPLOYMENT_NAME_MAP",
  "AZURE_OPENAI_RESOURCE_NAME",
  "BASETEN_API_KEY",
  "CEREBRAS_API_KEY",
  "CLOUDFLARE_API_KEY",
  "COPILOT_GITHUB_TOKEN",
  "DEEPSEEK_API_KEY",
  "FIREWORKS_API_KEY",
  "GEMINI_API_KEY",
  "GOOGLE_CLOUD_API_KEY",
  "GROQ_API_KEY",
  "HF_TOKEN",
  "KIMI_API_KEY",
  "META_API_KEY",
  "MINIMAX_API_KEY",
  "MINIMAX_CN_API_KEY",
  "MISTRAL_API_KEY",
  "MOONSHOT_API_KEY",
  "NVIDIA_API_KEY",
  "OPENAI_API_KEY",
  "OPENCODE_API_KEY",
  "OPENROUTER_API_KEY",
  "QWEN_TOKEN_PLAN_API_KEY",
  "QWEN_TOKEN_PLAN_CN_API_KEY",
  "QWEN_TOKEN_PLAN_INDIVIDUAL_API_KEY",
  "QWEN_TOKEN_PLAN_INDIVIDUAL_CN_API_KEY",
  "QWEN_TOKEN_PLAN_TEAM_API_KEY",
  "QWEN_TOKEN_PLAN_TEAM_CN_API_KEY",
  "RADIUS_API_KEY",
  "TOGETHER_API_KEY",
  "TYPESAFE_API_KEY",
  "XAI_API_KEY",
  "XIAOMI_API_KEY",
  "XIAOMI_TOKEN_PLAN_AMS_API_KEY",
  "XIAOMI_TOKEN_PLAN_CN_API_KEY",
  "XIAOMI_TOKEN_PLAN_SGP_API_KEY",
  "ZAI_API_KEY",
  "ZAI_CODING_CN_API_KEY",
] as const;

/** Credentials of the server's own, which no child gets. */
const OWN_VARIABLES = ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"];

/** The server's environment, told apart: what runners get, and what only Pi gets. */
export type SplitEnvironment = {
  runners: NodeJS.ProcessEnv;
  credentials: Record<string, string>;
};

/** Tells a model's credentials from the rest; `more` are the names that a person added. */
export function splitEnvironment(
  env: NodeJS.ProcessEnv,
  more: readonly string[] = [],
): SplitEnvironment {
  const forPi = new Set<string>([...PROVIDER_VARIABLES, ...more]);
  const split: SplitEnvironment = { runners: {}, credentials: {} };
  for (const [name, value] of Object.entries(env)) {
    if (OWN_VARIABLES.includes(name)) continue;
    if (!forPi.has(name)) split.runners[name] = value;
    else if (value !== undefined) split.credentials[name] = value;
  }
  return split;
}
