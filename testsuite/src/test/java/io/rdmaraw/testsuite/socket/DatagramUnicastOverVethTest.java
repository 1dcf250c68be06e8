package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.DatagramUnicastInetTest;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethEnd;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;

/** Runs Netty's datagram tests over a veth pair, with this transport at one end and NIO at the other, in both roles. */
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class DatagramUnicastOverVethTest extends DatagramUnicastInetTest {
    private VethDatagrams veth;

    @BeforeEach
    void open(TestNetwork network) {
        veth = new VethDatagrams(network, provider());
    }

    @AfterEach
    void close() {
        veth.close();
    }

    @Override
    protected List<BootstrapComboFactory<Bootstrap, Bootstrap>> newFactories() {
        return veth.bothWays(socketInternetProtocalFamily(), socketInternetProtocalFamily());
    }

    /** The test uses one address for both ends, so each end binds to all of its addresses. */
    @Override
    protected SocketAddress newSocketAddress() {
        return new InetSocketAddress(0);
    }

    @Override
    protected InetSocketAddress convertAnyAddress(InetSocketAddress serverAddress) {
        return veth.reachable(serverAddress, this::address);
    }

    String address(VethEnd end) {
        return end.ipv4();
    }

    /** Returns the prefix of the device name; the interface's name follows it. */
    String provider() {
        return "soft:packet:";
    }
}
