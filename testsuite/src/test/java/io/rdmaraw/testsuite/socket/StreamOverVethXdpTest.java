package io.rdmaraw.testsuite.socket;

/** Runs the same tests over AF_XDP. */
class StreamOverVethXdpTest extends StreamOverVethTest {
    @Override
    String provider() {
        return "soft:xdp:";
    }
}
