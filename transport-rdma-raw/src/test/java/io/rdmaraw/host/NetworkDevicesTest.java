package io.rdmaraw.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.verbs.port.PortInterfaces;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NetworkDevicesTest {
    @TempDir
    private Path sys;

    private void putCard(String device, String interfaceName) throws IOException {
        Files.createDirectories(sys.resolve("class/infiniband/" + device + "/ports/1"));
        Files.createDirectories(sys.resolve("class/infiniband/" + device + "/device/net/" + interfaceName));
        Files.createDirectories(sys.resolve("class/net/" + interfaceName + "/device/infiniband/" + device));
    }

    private void putBond(String interfaceNames) throws IOException {
        Path directory = Files.createDirectories(sys.resolve("class/net/bond0/bonding"));
        Files.writeString(directory.resolve("slaves"), interfaceNames + '\n');
    }

    /** A card receives its own frames only. The kernel's bond has those of all its interfaces. */
    @Test
    void bondOfSeveralCardsIsRefusedForCardsOnly() throws IOException {
        putCard("mlx5_0", "eth0");
        putCard("mlx5_1", "eth1");
        putBond("eth0 eth1");
        PortInterfaces interfaces = PortInterfaces.ofFiles(sys);
        IOException refusal = assertThrows(IOException.class, () -> NetworkDevices.interfaceOf("bond0", interfaces));
        assertTrue(refusal.getMessage().startsWith("bond0 consists of several RDMA devices (mlx5_0, mlx5_1)"),
                refusal.getMessage());
        assertEquals("bond0", NetworkDevices.interfaceOf("soft:packet:bond0", interfaces));
        assertEquals("bond0", NetworkDevices.interfaceOf("soft:xdp:bond0", interfaces));
    }

    /** With RoCE LAG, only the first function has a device. */
    @Test
    void bondOfOneDeviceIsUsed() throws IOException {
        putCard("mlx5_bond_0", "eth0");
        Files.createDirectories(sys.resolve("class/net/eth1"));
        putBond("eth0 eth1");
        assertEquals("bond0", NetworkDevices.interfaceOf("bond0", PortInterfaces.ofFiles(sys)));
    }
}
