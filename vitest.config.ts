import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Most tests wait for a command they started.
    maxWorkers: Math.max(2, availableParallelism()),
    projects: [
      { test: { name: 'layers', include: ['test/layers.test.ts'] } },
      {
        test: {
          name: 'writ',
          include: ['test/**/*.test.ts'],
          exclude: ['test/layers.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
