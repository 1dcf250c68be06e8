package io.rdmaraw.testsuite.socket;

class DatagramNetworkChangesXdpTest extends DatagramNetworkChangesTest {
    @Override
    String provider() {
        return "soft:xdp:";
    }
}
