package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.DatagramMulticastIPv6Test;
import io.rdmaraw.testsuite.leak.LeakExtension;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

import java.util.List;

@Tag("host-interfaces")
@ExtendWith({LeakExtension.class, LoopGroups.class})
class RdmaRawDatagramMulticastIPv6Test extends DatagramMulticastIPv6Test {
    @Override
    protected List<BootstrapComboFactory<Bootstrap, Bootstrap>> newFactories() {
        return RdmaRawSocketTestPermutation.INSTANCE.datagram(socketInternetProtocalFamily());
    }
}
