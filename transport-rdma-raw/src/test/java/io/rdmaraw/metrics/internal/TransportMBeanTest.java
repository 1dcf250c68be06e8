package io.rdmaraw.metrics.internal;

import org.junit.jupiter.api.Test;

import javax.management.MBeanServer;
import javax.management.ObjectName;
import java.lang.management.ManagementFactory;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

class TransportMBeanTest {
    private final MBeanServer server = ManagementFactory.getPlatformMBeanServer();

    /** Two web applications of one server may have a copy of the transport each. */
    @Test
    void copiesOfTheTransportHaveDifferentNames() throws Exception {
        String first = TransportMBean.register();
        String second = TransportMBean.register();
        assertNotEquals(first, second);
        assertTrue(server.isRegistered(new ObjectName(first)));
        assertTrue(server.isRegistered(new ObjectName(second)));
        TransportMBean.unregister(first);
        assertTrue(TransportMBean.isAnyRegistered());
        TransportMBean.unregister(second);
        assertFalse(server.isRegistered(new ObjectName(second)));
    }
}
