package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.DatagramConnectNotExistsTest;
import io.rdmaraw.testsuite.leak.LeakExtension;
import org.junit.jupiter.api.extension.ExtendWith;

import java.util.List;

@ExtendWith({LeakExtension.class, LoopGroups.class})
class RdmaRawDatagramConnectNotExistsTest extends DatagramConnectNotExistsTest {
    @Override
    protected List<BootstrapFactory<Bootstrap>> newFactories() {
        return RdmaRawSocketTestPermutation.INSTANCE.datagramSocket();
    }
}
