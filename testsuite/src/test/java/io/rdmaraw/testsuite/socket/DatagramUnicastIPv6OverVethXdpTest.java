package io.rdmaraw.testsuite.socket;

class DatagramUnicastIPv6OverVethXdpTest extends DatagramUnicastIPv6OverVethTest {
    @Override
    String provider() {
        return "soft:xdp:";
    }
}
