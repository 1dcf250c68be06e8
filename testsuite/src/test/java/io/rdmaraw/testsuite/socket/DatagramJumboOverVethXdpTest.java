package io.rdmaraw.testsuite.socket;

class DatagramJumboOverVethXdpTest extends DatagramJumboOverVethTest {
    @Override
    String provider() {
        return "soft:xdp:";
    }
}
