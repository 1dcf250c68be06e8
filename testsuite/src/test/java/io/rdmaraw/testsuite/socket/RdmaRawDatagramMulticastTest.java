package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.DatagramMulticastTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

import java.util.List;

class RdmaRawDatagramMulticastTest extends DatagramMulticastTest {
    @Override
    protected List<BootstrapComboFactory<Bootstrap, Bootstrap>> newFactories() {
        return RdmaRawSocketTestPermutation.INSTANCE.datagram(socketInternetProtocalFamily());
    }

    @Override
    @Test
    public void testMulticast(TestInfo info) throws Throwable {
        VanishingInterfaces.outlast(() -> super.testMulticast(info));
    }
}
