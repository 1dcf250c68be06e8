package io.rdmaraw.testsuite.socket;

import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.SocketProtocolFamily;

/** Channels for both versions of IP that talk IPv4. */
class DatagramUnicastIPv6MappedOverVethTest extends DatagramUnicastOverVethTest {
    @Override
    protected SocketProtocolFamily socketProtocolFamily() {
        return SocketProtocolFamily.INET6;
    }

    /** As Netty's own test of mapped addresses has it: the JDK cannot always untie such a socket (JDK-8285515). */
    @Override
    protected boolean disconnectMightFail(DatagramChannel channel) {
        return !(channel instanceof io.rdmaraw.channel.RdmaRawDatagramChannel);
    }

    @Override
    String provider() {
        return "soft:xdp:";
    }
}
