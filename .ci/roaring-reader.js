// Reads and writes roaring bitmaps with CRoaring, to compare them with a store's.
//
//   roaring-reader.js PACKAGE compare FILE NUMBERS COUNT
//   roaring-reader.js PACKAGE write FILE plain|runs
//
// Compare fails unless the bitmap in FILE has the numbers in the file NUMBERS, one
// a line, and no others, and as many as COUNT, the answer of cohort count --json.
// Write makes a bitmap and writes its numbers to standard output.
'use strict';
const fs = require('fs');
const [roaring, action, file, ...rest] = process.argv.slice(2);
const {RoaringBitmap32} = require(roaring);

// sum adds numbers exactly: they are below 2^32, and there may be millions.
function sum(numbers) {
  let total = 0n;
  for (const n of numbers) total += BigInt(n);
  return total;
}

function compare(numbersFile, answer) {
  const bitmap = RoaringBitmap32.deserialize(fs.readFileSync(file), 'portable');
  const numbers = fs.readFileSync(numbersFile, 'utf8').split('\n').filter(Boolean).map(Number);
  const {expr, count} = JSON.parse(answer).results[0];
  const got = `${bitmap.size} numbers, sum ${sum(bitmap)}`;
  const want = `${count} numbers, sum ${sum(numbers)}`;
  if (got !== want || numbers.length !== count) {
    console.error(`${expr}: CRoaring reads ${got}; the store has ${want}`);
    process.exit(1);
  }
  console.log(`${expr}: ${got}`);
}

function write(how) {
  const bitmap = new RoaringBitmap32();
  bitmap.addRange(70000, 200000);
  for (let n = 1000000; n < 1200000; n += 3) bitmap.add(n);
  bitmap.addMany([0, 4294967295]);
  if (how === 'runs') bitmap.runOptimize();
  fs.writeFileSync(file, bitmap.serialize('portable'));
  process.stdout.write([...bitmap].join('\n') + '\n');
}

({compare, write})[action](...rest);
