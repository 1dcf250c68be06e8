package io.rdmaraw.verbs.objects;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.port.PortInterfaces;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class VerbsExceptionTest {
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "ibv_create_qp|1|CAP_NET_RAW",
        "ibv_create_flow|1|CAP_NET_RAW",
        "ibv_create_qp|22|max_qp_wr",
        "ibv_create_qp_ex|95|no raw-packet queue pairs",
        "ibv_create_flow|17|same rule exists",
        "ibv_create_flow|28|each connection of a client",
        "ibv_create_flow|12|priorities are 0 to 15",
        "ibv_create_flow|16|another rule",
        "ibv_create_flow|95|cannot steer",
        "ibv_dealloc_pd|16|still open",
        "ibv_open_device|13|/dev/infiniband/uverbs",
        "ibv_query_port|19|removed",
        "ibv_create_cq|22|max_cqe",
        "ibv_modify_qp|22|does not follow",
        "ibv_post_send|12|queue is full",
        "ibv_create_rwq_ind_table|22|power of two",
        "ibv_create_wq|95|does not support",
    })
    void theMessageNamesCallErrorAndRemedy(String call, int errno, String remedy) {
        VerbsException e = VerbsException.of(call, errno, "details");
        assertTrue(e.getMessage().startsWith(call + " (details) failed: " + Errno.name(errno) + " ("), e.getMessage());
        assertTrue(e.getMessage().contains(remedy), e.getMessage());
        assertEquals(call, e.call());
        assertEquals(errno, e.errno());
        assertEquals(Errno.name(errno), e.errnoName());
    }

    @Test
    void tooLargeMemoryRegionReportsLimitAndSize() throws Exception {
        String limit = Files.readAllLines(Path.of("/proc/self/limits")).stream()
                .filter(l -> l.startsWith("Max locked memory")).findFirst().orElseThrow().split(" {2,}")[1].trim();
        VerbsException e = VerbsException.of("ibv_reg_mr", Errno.ENOMEM, "1073741824 bytes");
        assertTrue(e.getMessage().contains("1073741824 bytes"), e.getMessage());
        assertTrue(e.getMessage().contains("memlock limit, now " + limit), e.getMessage());
        assertTrue(e.getMessage().contains("ulimit -l"), e.getMessage());
    }

    /** softverbs devices are network interfaces, which have no RDMA device file. */
    @Test
    void errorsThatSoftverbsDoesNotExplainNameNoDeviceFile() {
        for (int errno = 1; errno < 134; errno++) {
            String text = unexplained(errno);
            assertTrue(text.contains(Errno.name(errno) + " (") && !text.contains("uverbs"), text);
        }
        assertTrue(unexplained(Errno.EMFILE).contains("ulimit -n"));
    }

    private static String unexplained(int errno) {
        return VerbsException.explained("ibv_open_device", errno, "cannot open soft:xdp:eth0", "").getMessage();
    }

    @Test
    void checkDoesNotThrowWithoutError() {
        assertDoesNotThrow(() -> VerbsException.check("ibv_modify_qp", 0, ""));
    }

    @Test
    void unknownDeviceListsExistingDevices() {
        VerbsException e = assertThrows(VerbsException.class, () -> VerbsDevices.open("nosuch0"));
        assertEquals(Errno.ENODEV, e.errno());
        assertTrue(e.getMessage().contains("\"nosuch0\""), e.getMessage());
        for (String name : VerbsDevices.names()) {
            assertTrue(e.getMessage().contains(name), e.getMessage());
        }
    }

    @Test
    void networkInterfaceWithoutRdmaDeviceSuggestsSoftDevices(@TempDir Path sys) throws Exception {
        Files.createDirectories(sys.resolve("class/net/eth9/device"));
        PortInterfaces interfaces = PortInterfaces.ofFiles(sys);
        String known = VerbsDevices.unknownDeviceReason(interfaces, "eth9");
        assertTrue(known.contains("soft:xdp:eth9") && known.contains("soft:packet:eth9"), known);
        String unknown = VerbsDevices.unknownDeviceReason(interfaces, "eth8");
        assertTrue(unknown.contains("no RDMA device \"eth8\""), unknown);
        String misspelt = VerbsDevices.unknownDeviceReason(interfaces, "soft:xpd:eth9");
        assertTrue(misspelt.contains("soft:xdp:NETDEV"), misspelt);
    }
}
