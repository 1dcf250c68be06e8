package io.rdmaraw.verbs.port;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the use of sysfs, for kernels without RDMA netlink. The files are those of mlx5, mlx4 and bonding. */
class PortInterfacesTest {
    @TempDir
    private Path sys;

    private PortInterfaces interfaces;

    @BeforeEach
    void aDeviceWithoutGids() throws IOException {
        interfaces = PortInterfaces.ofFiles(sys);
        Files.createDirectories(sys.resolve("class/infiniband/mlx5_0/ports/1"));
        Files.createDirectories(sys.resolve("class/net"));
    }

    private void put(String file, String text) throws IOException {
        Path path = sys.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text + '\n');
    }

    private void putInterface(String name, int devPort, String portName) throws IOException {
        Files.createDirectories(sys.resolve("class/infiniband/mlx5_0/device/net/" + name));
        put("class/net/" + name + "/dev_port", Integer.toString(devPort));
        put("class/net/" + name + "/phys_port_name", portName);
        Files.createDirectories(sys.resolve("class/net/" + name + "/device/infiniband/mlx5_0"));
    }

    @Test
    void interfaceIsFoundInTheGidTable() throws IOException {
        putInterface("ens1f0", 0, "p0");
        putInterface("ens1f1", 0, "p1");
        put("class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/3", "ens1f1");
        assertEquals("ens1f1", interfaces.interfaceOf("mlx5_0", 1));
    }

    @Test
    void interfaceIsTheOnlyOneOfTheFunctionWithoutRoce() throws IOException {
        putInterface("ens1f0", 0, "p0");
        assertEquals("ens1f0", interfaces.interfaceOf("mlx5_0", 1));
    }

    @Test
    void representorsAreIgnored() throws IOException {
        putInterface("ens1f0_0", 0, "pf0vf0");
        putInterface("ens1f0_1", 0, "c1pf0sf88");
        putInterface("ens1f0_2", 0, "pf0");
        putInterface("ens1f0np0", 0, "p0");
        assertEquals("ens1f0np0", interfaces.interfaceOf("mlx5_0", 1));
        assertEquals(new RdmaPort("mlx5_0", 1), interfaces.portOf("ens1f0np0"));
        assertNull(interfaces.portOf("ens1f0_0"), "its frames are not those of the function's own port");
    }

    /** {@code mlx5_esw_vports_init()} allocates the function itself, the virtual functions, and the uplink last. */
    @Test
    void uplinkIsTheLastPortInSwitchdevMode() throws IOException {
        Files.createDirectories(sys.resolve("class/infiniband/mlx5_0/ports/2"));
        Files.createDirectories(sys.resolve("class/infiniband/mlx5_0/ports/3"));
        putInterface("ens1f0_0", 0, "pf0vf0");
        putInterface("ens1f0np0", 0, "p0");
        assertEquals(3, interfaces.ownPortOf("mlx5_0"));
        assertEquals(new RdmaPort("mlx5_0", 3), interfaces.portOf("ens1f0np0"));
        assertEquals("ens1f0np0", interfaces.interfaceOf("mlx5_0", 3));
        assertNull(interfaces.interfaceOf("mlx5_0", 1), "the function itself has no representor");
        assertNull(interfaces.portOf("ens1f0_0"));
    }

    @Test
    void portsOfAFunctionAreDistinguishedByNumber() throws IOException {
        putInterface("enp4s0", 0, "");
        putInterface("enp4s0d1", 1, "");
        assertEquals("enp4s0", interfaces.interfaceOf("mlx5_0", 1));
        assertEquals("enp4s0d1", interfaces.interfaceOf("mlx5_0", 2));
        assertEquals(1, interfaces.ownPortOf("mlx5_0"));
        Files.createDirectories(sys.resolve("class/infiniband/mlx5_0/ports/2"));
        assertEquals(new RdmaPort("mlx5_0", 1), interfaces.portOf("enp4s0"));
        assertEquals(new RdmaPort("mlx5_0", 2), interfaces.portOf("enp4s0d1"));
    }

    @Test
    void ambiguousInterfaceIsNotReturned() throws IOException {
        putInterface("ens1f0", 0, "p0");
        putInterface("ens1f1", 0, "p1");
        assertNull(interfaces.interfaceOf("mlx5_0", 1));
    }

    @Test
    void bondIsReturnedForItsPorts() throws IOException {
        putInterface("ens1f0", 0, "p0");
        put("class/net/bond0/bonding/mode", "802.3ad 4");
        Files.createSymbolicLink(sys.resolve("class/net/ens1f0/master"), Path.of("../bond0"));
        assertEquals("bond0", interfaces.interfaceOf("mlx5_0", 1));
        assertEquals("bond0", interfaces.bondOf("ens1f0"));
    }

    /** A bridge has addresses, too, but its frames may leave by other ports. */
    @Test
    void bridgeIsNotReturnedForItsPorts() throws IOException {
        putInterface("ens1f0", 0, "p0");
        Files.createDirectories(sys.resolve("class/net/br0/bridge"));
        Files.createSymbolicLink(sys.resolve("class/net/ens1f0/master"), Path.of("../br0"));
        assertEquals("ens1f0", interfaces.interfaceOf("mlx5_0", 1));
    }

    @Test
    void missingDevicesAndInterfacesAreNotFound() throws IOException {
        putInterface("ens1f0", 0, "p0");
        Files.createDirectories(sys.resolve("class/net/eth9/device"));
        assertNull(interfaces.interfaceOf("mlx5_1", 1));
        assertNull(interfaces.interfaceOf("mlx5_0", 2));
        assertNull(interfaces.portOf("eth9"));
        assertNull(interfaces.portOf("nosuch0"));
        assertNull(interfaces.portOf(""));
        assertNull(interfaces.portOf("../net/ens1f0"));
        assertEquals("..", interfaces.bondOf(".."));
        assertTrue(interfaces.isDevice("mlx5_0") && interfaces.isInterface("eth9"));
        assertFalse(interfaces.isDevice("ens1f0") || interfaces.isInterface("mlx5_0"));
    }
}
