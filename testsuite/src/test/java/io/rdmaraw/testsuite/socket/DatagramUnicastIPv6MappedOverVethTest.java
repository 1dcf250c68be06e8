package io.rdmaraw.testsuite.socket;

import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.SocketProtocolFamily;

/** Runs the tests with dual-stack channels that communicate over IPv4. */
class DatagramUnicastIPv6MappedOverVethTest extends DatagramUnicastOverVethTest {
    @Override
    protected SocketProtocolFamily socketProtocolFamily() {
        return SocketProtocolFamily.INET6;
    }

    /** As in Netty's own test of mapped addresses: the JDK cannot always disconnect such a socket (JDK-8285515). */
    @Override
    protected boolean disconnectMightFail(DatagramChannel channel) {
        return !(channel instanceof io.rdmaraw.channel.RdmaRawDatagramChannel);
    }

    @Override
    String provider() {
        return "soft:xdp:";
    }
}
