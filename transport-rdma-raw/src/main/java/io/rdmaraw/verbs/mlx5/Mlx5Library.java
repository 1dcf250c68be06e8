package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.verbs.DriverLibrary;
import io.rdmaraw.verbs.VerbsContext;

/** What libmlx5 adds to verbs. */
public final class Mlx5Library implements DriverLibrary {
    @Override
    public boolean drives(VerbsContext context) {
        return Mlx5dv.isDriverOf(context);
    }

    @Override
    public String createQueuePairCall() {
        return "mlx5dv_create_qp";
    }

    @Override
    public long createSelfLoopingQueuePair(VerbsContext context, long attributes) {
        return Mlx5dv.createSelfLooping(context, attributes);
    }
}
