package io.rdmaraw.testsuite.socket;

class DatagramUnicastOverVethXdpTest extends DatagramUnicastOverVethTest {
    @Override
    String provider() {
        return "soft:xdp:";
    }
}
