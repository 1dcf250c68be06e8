package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.DatagramConnectedWriteExceptionTest;

import java.util.List;

class RdmaRawDatagramConnectedWriteExceptionTest extends DatagramConnectedWriteExceptionTest {
    @Override
    protected List<BootstrapFactory<Bootstrap>> newFactories() {
        return RdmaRawSocketTestPermutation.INSTANCE.datagramSocket();
    }
}
