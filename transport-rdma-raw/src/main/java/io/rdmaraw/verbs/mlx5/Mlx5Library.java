package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.verbs.objects.DriverLibrary;
import io.rdmaraw.verbs.objects.VerbsContext;

/** The calls of libmlx5 that verbs does not have. */
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
    public long createSelfLoopbackQueuePair(VerbsContext context, long attributes) {
        return Mlx5dv.createSelfLoopback(context, attributes);
    }
}
