package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.DatagramMulticastTest;
import io.rdmaraw.testsuite.leak.LeakExtension;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

import java.util.List;

@Tag("host-interfaces")
@ExtendWith({LeakExtension.class, LoopGroups.class})
class RdmaRawDatagramMulticastTest extends DatagramMulticastTest {
    @Override
    protected List<BootstrapComboFactory<Bootstrap, Bootstrap>> newFactories() {
        return RdmaRawSocketTestPermutation.INSTANCE.datagram(socketInternetProtocalFamily());
    }
}
