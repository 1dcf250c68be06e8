package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.VerbsLayouts.RwqIndTableInitAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.VerbsContextLayout;
import java.lang.foreign.Arena;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** An RSS indirection table ({@code struct ibv_rwq_ind_table}): the low bits of the hash select a work queue. */
public final class RwqIndirectionTable extends VerbsObject {
    private final VerbsContext context;
    private final List<WorkQueue> entries;

    private RwqIndirectionTable(VerbsContext context, WorkQueue[] entries, long table, Set<VerbsObject> uses) {
        super(context.lifecycle, table, uses.toArray(VerbsObject[]::new));
        this.context = context;
        this.entries = List.of(entries);
    }

    static RwqIndirectionTable create(VerbsContext context, WorkQueue[] entries) {
        if (Integer.bitCount(entries.length) != 1) {
            throw new IllegalArgumentException("the number of entries of an indirection table must be a power of two,"
                    + " was " + entries.length);
        }
        long function = context.requiredExtension(VerbsContextLayout.CREATE_RWQ_IND_TABLE_OFFSET,
                "ibv_create_rwq_ind_table");
        try (Arena arena = Arena.ofConfined()) {
            long queues = arena.allocate((long) entries.length * Long.BYTES, Long.BYTES).address();
            Set<VerbsObject> uses = new LinkedHashSet<>(List.of(context));
            for (int i = 0; i < entries.length; i++) {
                NativeMemory.putLong(queues + (long) i * Long.BYTES, entries[i].nativeAddress());
                uses.add(entries[i]);
            }
            long attr = arena.allocate(RwqIndTableInitAttrLayout.SIZE_BYTES, Long.BYTES).address();
            NativeMemory.putInt(attr + RwqIndTableInitAttrLayout.LOG_IND_TBL_SIZE_OFFSET,
                    Integer.numberOfTrailingZeros(entries.length));
            NativeMemory.putLong(attr + RwqIndTableInitAttrLayout.IND_TBL_OFFSET, queues);
            long table = VerbsContext.checkCreated("ibv_create_rwq_ind_table",
                    NativeCall.pointer(function, context.nativeAddress(), attr), entries.length + " entries");
            return new RwqIndirectionTable(context, entries, table, uses);
        }
    }

    /** Returns the work queues in table order. A work queue may occur several times. */
    public List<WorkQueue> entries() {
        return entries;
    }

    @Override
    int destroy(long table) {
        return NativeCall.status(context.requiredExtension(VerbsContextLayout.DESTROY_RWQ_IND_TABLE_OFFSET,
                "ibv_destroy_rwq_ind_table"), table);
    }

    @Override
    String destroyCall() {
        return "ibv_destroy_rwq_ind_table";
    }
}
