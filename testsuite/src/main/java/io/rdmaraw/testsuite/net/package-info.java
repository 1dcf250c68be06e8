/**
 * A kit for tests on a real wire: network namespaces and veth pairs that a test makes for itself and that disappear
 * after it, stock programs that run in them as peers, and captures that are kept when the test fails.
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
 * <p>Names carry the process id of the test run. What a killed run has left behind is removed by the next one.
 */
package io.rdmaraw.testsuite.net;
