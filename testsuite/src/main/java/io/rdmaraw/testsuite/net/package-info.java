/**
 * Supports tests on real network interfaces: network namespaces and veth pairs that exist for one test, stock programs
 * that run in them as peers, and captures that are kept if the test fails.
 *
 * <pre>
 * &#64;WithTestNetwork
 * class PingTest {
 *     &#64;Test
 *     void kernelAnswersPing(TestNetwork network) {
 *         VethPair pair = network.vethPair();
 *         pair.peer().namespace().run("ping", "-c", "1", pair.ours().ipv4());
 *     }
 * }
 * </pre>
 *
 * <p>Names contain the process ID of the test run. The next run removes the leftovers of a killed one.
 */
package io.rdmaraw.testsuite.net;
