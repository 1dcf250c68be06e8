package io.rdmaraw.testsuite.socket;

class DatagramOverVethXdpTest extends DatagramOverVethTest {
    @Override
    String provider() {
        return "soft:xdp:";
    }
}
