package io.rdmaraw.testsuite.socket;

import io.netty.channel.socket.SocketProtocolFamily;
import io.rdmaraw.testsuite.net.VethEnd;

class DatagramUnicastIPv6OverVethTest extends DatagramUnicastOverVethTest {
    @Override
    protected SocketProtocolFamily socketProtocolFamily() {
        return SocketProtocolFamily.INET6;
    }

    @Override
    String address(VethEnd end) {
        return end.ipv6();
    }
}
