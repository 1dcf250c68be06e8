package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.DatagramConnectedWriteExceptionTest;
import io.rdmaraw.testsuite.leak.LeakExtension;
import org.junit.jupiter.api.extension.ExtendWith;

import java.util.List;

@ExtendWith({LeakExtension.class, LoopGroups.class})
class RdmaRawDatagramConnectedWriteExceptionTest extends DatagramConnectedWriteExceptionTest {
    @Override
    protected List<BootstrapFactory<Bootstrap>> newFactories() {
        return RdmaRawSocketTestPermutation.INSTANCE.datagramSocket();
    }
}
