/**
 * The distributions against values made once with mpmath 1.3 at 40 digits: t by integrating its density, the noncentral t by integrating
 * Phi(t s - delta) over the density of s = chi / sqrt(df), quantiles by root finding. None of these is the method of the code.
 */
import { logGamma } from '../../../power/statistics/beta.js';
import { noncentralTCdf } from '../../../power/statistics/noncentral-t.js';
import { normalCdf } from '../../../power/statistics/normal.js';
import { tCdf, tQuantile } from '../../../power/statistics/student-t.js';
import { assert, suite } from '../../tools/suite.js';

const test = suite('distributions');
const tolerance = 1e-11;

function close(found: number, expected: number, what: string): void {
  const error = Math.abs(found - expected) / Math.max(1, Math.abs(expected));
  assert.ok(error <= tolerance, `${what}: expected ${expected}, found ${found}`);
}

test('logGamma', () => {
  const golden = [
    [0.1, 2.252712651734206],
    [0.5, 0.5723649429247001],
    [1.5, -0.12078223763524522],
    [3.7, 1.428072326665388],
    [20, 39.3398841871995],
    [512.25, 2681.381545022319],
  ] as const;
  for (const [x, expected] of golden) close(logGamma(x), expected, `logGamma(${x})`);
});

test('normal distribution', () => {
  const golden = [
    [-8, 6.220960574271784e-16],
    [-3, 0.0013498980316300946],
    [-0.5, 0.3085375387259869],
    [0, 0.5],
    [0.1, 0.539827837277029],
    [1, 0.8413447460685429],
    [1.959963984540054, 0.975],
    [5, 0.9999997133484281],
    [-40, 0],
    [Infinity, 1],
  ] as const;
  for (const [x, expected] of golden) close(normalCdf(x), expected, `normalCdf(${x})`);
});

test("Student's t", () => {
  const golden = [
    [0.5, 1, 0.6475836176504333],
    [2, 1, 0.8524163823495667],
    [12.7, 1, 0.9749878361553279],
    [1, 2, 0.7886751345948129],
    [2.5, 3, 0.9561466764959672],
    [4, 5, 0.9948382922595843],
    [-1.3, 4, 0.13172579823561206],
    [0.01, 7, 0.5038498411781891],
    [2.2, 11, 0.9749569445090979],
    [3, 2.5, 0.9637119522254841],
    [1.5, 0.7, 0.7798174514903798],
    [6, 29, 0.9999992036045787],
    [1.96, 400, 0.9746551648499862],
    [1.959963984540054, Infinity, 0.975],
  ] as const;
  for (const [t, df, expected] of golden) close(tCdf(t, df), expected, `tCdf(${t}, ${df})`);
});

test('quantiles of t, for the whole degrees of freedom of blocks and the broken ones of Welch and Satterthwaite', () => {
  const golden = [
    [0.975, 1, 12.706204736174692],
    [0.975, 2, 4.302652729749462],
    [0.975, 3, 3.182446305283708],
    [0.975, 5, 2.5705818356363146],
    [0.975, 7, 2.364624251592785],
    [0.975, 11, 2.2009851600916392],
    [0.975, 29, 2.045229642132704],
    [0.975, 4.4, 2.6796794856923354],
    [0.975, 123.4, 1.9793749463174197],
    [0.8, 5, 0.9195437802408262],
    [0.995, 2, 9.92484320091829],
    [0.9995, 9, 4.780912585931218],
    [0.025, 5, -2.5705818356363155],
    [0.6, 1, 0.32491969623290623],
    [0.975, Infinity, 1.959963984540054],
  ] as const;
  for (const [p, df, expected] of golden) close(tQuantile(p, df), expected, `tQuantile(${p}, ${df})`);
});

test('noncentral t, both signs of t and delta, deltas where exp(-delta^2 / 2) is nothing', () => {
  const golden = [
    [2, 3, 1, 0.7436298684076653],
    [12.7062, 1, 16, 0.2093531843331364],
    [12.7062, 1, 1, 0.9322369610822501],
    [2.57, 5, 3.5, 0.20285568305745674],
    [2.57, 5, 0.3, 0.9564761601482479],
    [-2.57, 5, 3.5, 3.1498262375525806e-7],
    [2.2, 11, 3.1, 0.1943250109971792],
    [0, 4, 1.2, 0.11506967022170828],
    [1, 2, -1.5, 0.985892882368408],
    [-1, 6, -2, 0.8417148594656332],
    [30, 4, 25, 0.5955030475635881],
    [2.045, 29, 2.9, 0.19959809117769972],
    [4.3, 2, 40, 1.1614486459223733e-34],
    [2.5, 7.5, 0, 0.9805898708631873],
  ] as const;
  for (const [t, df, delta, expected] of golden)
    close(noncentralTCdf(t, df, delta), expected, `noncentralTCdf(${t}, ${df}, ${delta})`);
});

test.run();
