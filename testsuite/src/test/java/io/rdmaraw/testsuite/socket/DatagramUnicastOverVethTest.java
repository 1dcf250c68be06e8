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

/** Netty's tests of datagrams over a veth pair: this transport with Netty's NIO in another namespace, both ways. */
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

    /** Either end binds to all of its addresses, as the test asks for one address for both. */
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

    /** How the device is reached; followed by the interface's name. */
    String provider() {
        return "soft:packet:";
    }
}
