package io.rdmaraw.verbs.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.verbs.abi.WcStatus;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HexFormat;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Tests the accessors of completions against structures laid out by the C compiler. */
class CompletionTest {
    private final MemorySegment memory = Arena.ofAuto().allocate(Cqe.SIZE_BYTES, 8);

    private long completion(String question) {
        memory.copyFrom(MemorySegment.ofArray(HexFormat.of().parseHex(Mlx5Reference.ask(question))));
        return memory.address();
    }

    @Property(tries = 3000)
    void fieldsOfReceives(@ForAll @IntRange(max = 255) int hdsIpExt, @ForAll @IntRange(max = 255) int l4HeaderType,
            @ForAll @IntRange(max = 0xffffff) int flowTag, @ForAll int byteCount,
            @ForAll @IntRange(max = 0xffff) int wqeCounter) {
        long cqe = completion("C " + hdsIpExt + ' ' + l4HeaderType + ' ' + flowTag + ' ' + (byteCount & 0xffffffffL)
                + ' ' + wqeCounter + ' ' + 0x20);
        assertFalse(Cqe.isError(cqe));
        assertEquals(flowTag, Cqe.flowTag(cqe));
        assertEquals(byteCount, Cqe.byteCount(cqe));
        assertEquals(wqeCounter, Cqe.wqeCounter(cqe));
        boolean l3Right = (hdsIpExt & 2) != 0;
        boolean l4Right = (hdsIpExt & 4) != 0;
        assertEquals(switch (l4HeaderType >> 2 & 3) {
            case Cqe.L3_HDR_TYPE_IPV4 -> l3Right && l4Right;
            case Cqe.L3_HDR_TYPE_IPV6 -> l4Right;
            default -> false;
        }, Cqe.checksumVerified(cqe));
    }

    @Property(tries = 1000)
    void errors(@ForAll @IntRange(max = 255) int syndrome, @ForAll @IntRange(max = 0xffff) int wqeCounter,
            @ForAll boolean send) {
        long cqe = completion("E " + syndrome + ' ' + wqeCounter + ' '
                + ((send ? Cqe.OPCODE_REQ_ERR : Cqe.OPCODE_RESP_ERR) << Cqe.OPCODE_SHIFT));
        assertTrue(Cqe.isError(cqe));
        assertEquals(wqeCounter, Cqe.wqeCounter(cqe));
        assertEquals(switch (syndrome) {
            case 0x01 -> WcStatus.LOC_LEN_ERR;
            case 0x02 -> WcStatus.LOC_QP_OP_ERR;
            case 0x04 -> WcStatus.LOC_PROT_ERR;
            case 0x05 -> WcStatus.WR_FLUSH_ERR;
            case 0x06 -> WcStatus.MW_BIND_ERR;
            case 0x10 -> WcStatus.BAD_RESP_ERR;
            case 0x11 -> WcStatus.LOC_ACCESS_ERR;
            case 0x12 -> WcStatus.REM_INV_REQ_ERR;
            case 0x13 -> WcStatus.REM_ACCESS_ERR;
            case 0x14 -> WcStatus.REM_OP_ERR;
            case 0x15 -> WcStatus.RETRY_EXC_ERR;
            case 0x16 -> WcStatus.RNR_RETRY_EXC_ERR;
            case 0x22 -> WcStatus.REM_ABORT_ERR;
            default -> WcStatus.GENERAL_ERR;
        }, Cqe.status(cqe));
    }
}
