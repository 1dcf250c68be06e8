package io.rdmaraw.testsuite.socket;

/** The same by AF_XDP. */
class StreamOverVethXdpTest extends StreamOverVethTest {
    @Override
    String provider() {
        return "soft:xdp:";
    }
}
