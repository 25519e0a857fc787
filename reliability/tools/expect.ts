// Stands for vitest in what the rows share with the tests.
import { chai, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from "@vitest/expect";

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

export const expect = chai.expect;

const nothing = (): void => {};
export const describe = Object.assign(nothing, { skip: nothing, skipIf: () => nothing });
export const [beforeAll, afterAll] = [nothing, nothing];
