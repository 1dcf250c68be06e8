package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.DatagramUnicastInetTest;

import java.util.List;

class RdmaRawDatagramUnicastInetTest extends DatagramUnicastInetTest {
    @Override
    protected List<BootstrapComboFactory<Bootstrap, Bootstrap>> newFactories() {
        return RdmaRawSocketTestPermutation.INSTANCE.datagram(socketInternetProtocalFamily());
    }
}
