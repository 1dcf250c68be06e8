package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.DatagramUnicastIPv6MappedTest;

import java.util.List;

class RdmaRawDatagramUnicastIPv6MappedTest extends DatagramUnicastIPv6MappedTest {
    @Override
    protected List<BootstrapComboFactory<Bootstrap, Bootstrap>> newFactories() {
        return RdmaRawSocketTestPermutation.INSTANCE.datagram(socketInternetProtocalFamily());
    }
}
