// Type-checked rules for the extension and its unit tests; the workbench's scripts are plain JavaScript.
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist", "dist-test", "test-output", "src/generated"] },
  {
    files: ["src/**/*.ts", "test/**/*.ts"],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
  },
  {
    files: ["**/*.mjs"],
    extends: [tseslint.configs.recommended],
  },
);
