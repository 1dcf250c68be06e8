package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.DatagramConnectedWriteExceptionTest;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;

import java.util.List;

/**
 * Runs Netty's test on a veth interface: writes fail after the connected peer on the same host has closed its socket.
 */
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class DatagramConnectedWriteExceptionOverVethTest extends DatagramConnectedWriteExceptionTest {
    private VethDatagrams veth;

    @BeforeEach
    void open(TestNetwork network) {
        veth = new VethDatagrams(network, "soft:xdp:");
    }

    @AfterEach
    void close() {
        veth.close();
    }

    @Override
    protected List<BootstrapFactory<Bootstrap>> newFactories() {
        return List.of(() -> veth.ours(null));
    }
}
