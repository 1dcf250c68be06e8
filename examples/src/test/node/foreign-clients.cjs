// Clients for node against a server: node foreign-clients.cjs NODE_DIRECTORY CLIENT URL. Ends with 0 if all is right.
'use strict';
const assert = require('node:assert');
const { createRequire } = require('node:module');

const [directory, client, url] = process.argv.slice(2);
const load = createRequire(directory + '/');

/** A prime as period, so that bytes that are lost or duplicated in any usual unit are noticed. */
function pattern(length) {
  return Buffer.from(Array.from({ length }, (_, i) => i % 251));
}

/** Pages by a pool that pipelines, and bodies in both directions. */
async function undici() {
  const { Pool } = load('undici');
  const pool = new Pool(url, { connections: 8, pipelining: 10 });
  const pages = await Promise.all(Array.from({ length: 1000 }, async (_, i) => {
    const answer = await pool.request({ path: `/bytes/${i}`, method: 'GET' });
    const body = Buffer.from(await answer.body.arrayBuffer());
    return answer.statusCode === 200 && body.equals(pattern(i));
  }));
  assert.strictEqual(pages.filter(Boolean).length, 1000);
  const sent = pattern(5000000);
  const echo = await pool.request({ path: '/echo', method: 'POST', body: sent });
  assert(Buffer.from(await echo.body.arrayBuffer()).equals(sent));
  await pool.close();
  return '1,000 pages, 5 MB there and back';
}

/** Twenty thousand requests on twenty connections. */
async function autocannon() {
  const run = load('autocannon');
  const result = await run({ url: url + '/plaintext', connections: 20, amount: 20000 });
  assert.strictEqual(result.errors + result.timeouts + result.mismatches + result.non2xx, 0);
  assert.strictEqual(result['2xx'], 20000);
  return '20,000 requests';
}

/** Messages of many lengths, compressed and not, and a ping. */
async function ws() {
  const WebSocket = load('ws');
  for (const perMessageDeflate of [false, true]) {
    const socket = new WebSocket(url, { perMessageDeflate });
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    for (const length of [0, 1, 125, 126, 1447, 1448, 1449, 65535, 65536, 1000000, 5000000]) {
      const sent = pattern(length);
      const answer = new Promise((resolve) => socket.once('message', resolve));
      socket.send(sent);
      assert((await answer).equals(sent), `message of ${length} bytes`);
    }
    const pong = new Promise((resolve) => socket.once('pong', resolve));
    socket.ping('alive?');
    assert.strictEqual((await pong).toString(), 'alive?');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.close(1000);
    assert.strictEqual(await closed, 1000);
  }
  return '22 messages to 5 MB, pings, closes';
}

({ undici, autocannon, ws })[client]().then(
  (done) => { console.log(done); process.exit(0); },
  (error) => { console.log(error.stack); process.exit(1); });
