import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
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
