package io.rdmaraw.capture;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;

/**
 * A packet filter in classic BPF, as libpcap compiles it. The interpreter has the semantics of libpcap's
 * {@code bpf_filter()}. The constructor rejects programs that may not terminate. Used by one thread.
 */
final class BpfProgram {
    private static final int MAX_INSTRUCTIONS = 4096;
    private static final int MEMORY_WORDS = 16;
    /** Maximum length of an IPv4 header, which {@code ldx 4*([k]&0xf)} loads. */
    private static final int MAX_IPV4_HEADER_BYTES = 60;

    private static final int LD_W_ABS = 0x20;
    private static final int LD_H_ABS = 0x28;
    private static final int LD_B_ABS = 0x30;
    private static final int LD_W_IND = 0x40;
    private static final int LD_H_IND = 0x48;
    private static final int LD_B_IND = 0x50;
    private static final int LD_IMM = 0x00;
    private static final int LD_MEM = 0x60;
    private static final int LD_LEN = 0x80;
    private static final int LDX_IMM = 0x01;
    private static final int LDX_MEM = 0x61;
    private static final int LDX_LEN = 0x81;
    private static final int LDX_MSH = 0xb1;
    private static final int ST = 0x02;
    private static final int STX = 0x03;
    private static final int ALU_ADD_K = 0x04;
    private static final int ALU_SUB_K = 0x14;
    private static final int ALU_MUL_K = 0x24;
    private static final int ALU_DIV_K = 0x34;
    private static final int ALU_OR_K = 0x44;
    private static final int ALU_AND_K = 0x54;
    private static final int ALU_LSH_K = 0x64;
    private static final int ALU_RSH_K = 0x74;
    private static final int ALU_NEG = 0x84;
    private static final int ALU_MOD_K = 0x94;
    private static final int ALU_XOR_K = 0xa4;
    private static final int SOURCE_X = 0x08;
    private static final int JA = 0x05;
    private static final int JEQ_K = 0x15;
    private static final int JGT_K = 0x25;
    private static final int JGE_K = 0x35;
    private static final int JSET_K = 0x45;
    private static final int RET_K = 0x06;
    private static final int RET_A = 0x16;
    private static final int TAX = 0x07;
    private static final int TXA = 0x87;

    private final int[] codes;
    private final int[] constants;
    /** Index of the next instruction if the condition is true, and if it is false. */
    private final int[] ifTrue;
    private final int[] ifFalse;
    private final int[] memory = new int[MEMORY_WORDS];
    private final int neededBytes;

    /**
     * Decodes and checks a program.
     *
     * @param instructions one {@code struct bpf_insn} per element: code in bits 0 to 15, jt in bits 16 to 23, jf in
     *                     bits 24 to 31, k in bits 32 to 63
     * @throws IllegalArgumentException if the program is invalid or may not terminate
     */
    BpfProgram(long[] instructions) {
        int count = instructions.length;
        if (count == 0 || count > MAX_INSTRUCTIONS) {
            throw new IllegalArgumentException("the filter has " + count + " instructions; 1 to " + MAX_INSTRUCTIONS
                    + " are possible");
        }
        codes = new int[count];
        constants = new int[count];
        ifTrue = new int[count];
        ifFalse = new int[count];
        for (int i = 0; i < count; i++) {
            long word = instructions[i];
            codes[i] = (int) word & 0xffff;
            constants[i] = (int) (word >>> 32);
            ifTrue[i] = i + 1 + ((int) (word >>> 16) & 0xff);
            ifFalse[i] = i + 1 + ((int) (word >>> 24) & 0xff);
            check(i, count);
        }
        if (codes[count - 1] != RET_K && codes[count - 1] != RET_A) {
            throw new IllegalArgumentException("the filter does not end with a return");
        }
        neededBytes = computeNeededBytes();
    }

    private void check(int i, int count) {
        int k = constants[i];
        boolean valid = switch (codes[i]) {
            case LD_W_ABS, LD_H_ABS, LD_B_ABS, LD_W_IND, LD_H_IND, LD_B_IND, LD_IMM, LD_LEN, LDX_IMM, LDX_LEN, LDX_MSH,
                    RET_K, RET_A, TAX, TXA, ALU_NEG -> true;
            case LD_MEM, LDX_MEM, ST, STX -> k >= 0 && k < MEMORY_WORDS;
            case ALU_DIV_K, ALU_MOD_K -> k != 0;
            case ALU_ADD_K, ALU_SUB_K, ALU_MUL_K, ALU_OR_K, ALU_AND_K, ALU_XOR_K, ALU_LSH_K, ALU_RSH_K,
                    ALU_ADD_K | SOURCE_X, ALU_SUB_K | SOURCE_X, ALU_MUL_K | SOURCE_X, ALU_OR_K | SOURCE_X,
                    ALU_AND_K | SOURCE_X, ALU_XOR_K | SOURCE_X, ALU_LSH_K | SOURCE_X, ALU_RSH_K | SOURCE_X,
                    ALU_DIV_K | SOURCE_X, ALU_MOD_K | SOURCE_X -> true;
            // Only jumps forward: libpcap compiles "protochain" to a loop.
            case JA -> k >= 0 && k < count - i - 1;
            case JEQ_K, JGT_K, JGE_K, JSET_K, JEQ_K | SOURCE_X, JGT_K | SOURCE_X, JGE_K | SOURCE_X,
                    JSET_K | SOURCE_X -> ifTrue[i] < count && ifFalse[i] < count;
            default -> false;
        };
        if (!valid) {
            throw new IllegalArgumentException("the filter cannot be used: its instruction " + i + " (code 0x"
                    + Integer.toHexString(codes[i]) + ") is unknown or jumps backwards, as with protochain");
        }
    }

    /** Returns the number of first bytes that the program can read, or the maximum if X may have any value. */
    private int computeNeededBytes() {
        long needed = 0;
        boolean anyIndex = false;
        boolean indexed = false;
        for (int i = 0; i < codes.length; i++) {
            int code = codes[i];
            boolean indirect = code == LD_W_IND || code == LD_H_IND || code == LD_B_IND;
            if (indirect || code == LD_W_ABS || code == LD_H_ABS || code == LD_B_ABS || code == LDX_MSH) {
                needed = Math.max(needed, Integer.toUnsignedLong(constants[i]) + Integer.BYTES
                        + (indirect ? MAX_IPV4_HEADER_BYTES : 0));
            }
            indexed |= indirect;
            anyIndex |= code == TAX || code == LDX_MEM || code == LDX_IMM || code == LDX_LEN;
        }
        return indexed && anyIndex ? Integer.MAX_VALUE : (int) Math.min(needed, Integer.MAX_VALUE);
    }

    /** Returns the number of first bytes of a frame that decide the result. */
    int neededBytes() {
        return neededBytes;
    }

    /**
     * Runs the program.
     *
     * @param address        address of the first bytes of the frame
     * @param availableBytes number of bytes at the address
     * @param frameBytes     length of the whole frame
     * @return whether the frame matches
     */
    boolean matches(long address, int availableBytes, int frameBytes) {
        int a = 0;
        int x = 0;
        int pc = 0;
        while (true) {
            int k = constants[pc];
            switch (codes[pc]) {
                case LD_W_ABS, LD_W_IND -> {
                    long offset = offset(codes[pc], k, x);
                    if (offset > availableBytes - Integer.BYTES) {
                        return false;
                    }
                    a = NetworkOrder.getInt(address + offset);
                }
                case LD_H_ABS, LD_H_IND -> {
                    long offset = offset(codes[pc], k, x);
                    if (offset > availableBytes - Short.BYTES) {
                        return false;
                    }
                    a = NetworkOrder.getU16(address + offset);
                }
                case LD_B_ABS, LD_B_IND -> {
                    long offset = offset(codes[pc], k, x);
                    if (offset >= availableBytes) {
                        return false;
                    }
                    a = NativeMemory.getByte(address + offset) & 0xff;
                }
                case LDX_MSH -> {
                    if (Integer.toUnsignedLong(k) >= availableBytes) {
                        return false;
                    }
                    x = (NativeMemory.getByte(address + k) & 0xf) << 2;
                }
                case LD_IMM -> a = k;
                case LD_LEN -> a = frameBytes;
                case LD_MEM -> a = memory[k];
                case LDX_IMM -> x = k;
                case LDX_LEN -> x = frameBytes;
                case LDX_MEM -> x = memory[k];
                case ST -> memory[k] = a;
                case STX -> memory[k] = x;
                case TAX -> x = a;
                case TXA -> a = x;
                case RET_K -> {
                    return k != 0;
                }
                case RET_A -> {
                    return a != 0;
                }
                case JA -> pc += k;
                case JEQ_K -> pc = next(pc, a == k);
                case JGT_K -> pc = next(pc, Integer.compareUnsigned(a, k) > 0);
                case JGE_K -> pc = next(pc, Integer.compareUnsigned(a, k) >= 0);
                case JSET_K -> pc = next(pc, (a & k) != 0);
                case JEQ_K | SOURCE_X -> pc = next(pc, a == x);
                case JGT_K | SOURCE_X -> pc = next(pc, Integer.compareUnsigned(a, x) > 0);
                case JGE_K | SOURCE_X -> pc = next(pc, Integer.compareUnsigned(a, x) >= 0);
                case JSET_K | SOURCE_X -> pc = next(pc, (a & x) != 0);
                case ALU_DIV_K | SOURCE_X, ALU_MOD_K | SOURCE_X -> {
                    if (x == 0) {
                        return false;
                    }
                    a = compute(codes[pc] & ~SOURCE_X, a, x);
                }
                default -> a = compute(codes[pc] & ~SOURCE_X, a, (codes[pc] & SOURCE_X) != 0 ? x : k);
            }
            pc++;
        }
    }

    /** Returns the offset of a load. The bit of indirect loads is not set in absolute ones. */
    private static long offset(int code, int k, int x) {
        return Integer.toUnsignedLong(k) + ((code & LD_W_IND) != 0 ? Integer.toUnsignedLong(x) : 0);
    }

    /** Returns the index before the next instruction. */
    private int next(int pc, boolean condition) {
        return (condition ? ifTrue[pc] : ifFalse[pc]) - 1;
    }

    private static int compute(int code, int a, int operand) {
        return switch (code) {
            case ALU_ADD_K -> a + operand;
            case ALU_SUB_K -> a - operand;
            case ALU_MUL_K -> a * operand;
            case ALU_DIV_K -> Integer.divideUnsigned(a, operand);
            case ALU_MOD_K -> Integer.remainderUnsigned(a, operand);
            case ALU_OR_K -> a | operand;
            case ALU_AND_K -> a & operand;
            case ALU_XOR_K -> a ^ operand;
            case ALU_LSH_K -> Integer.compareUnsigned(operand, Integer.SIZE) < 0 ? a << operand : 0;
            case ALU_RSH_K -> Integer.compareUnsigned(operand, Integer.SIZE) < 0 ? a >>> operand : 0;
            case ALU_NEG -> -a;
            default -> throw new AssertionError(code);
        };
    }
}
