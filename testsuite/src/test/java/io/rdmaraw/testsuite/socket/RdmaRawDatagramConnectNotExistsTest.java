package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.DatagramConnectNotExistsTest;

import java.util.List;

class RdmaRawDatagramConnectNotExistsTest extends DatagramConnectNotExistsTest {
    @Override
    protected List<BootstrapFactory<Bootstrap>> newFactories() {
        return RdmaRawSocketTestPermutation.INSTANCE.datagramSocket();
    }
}
