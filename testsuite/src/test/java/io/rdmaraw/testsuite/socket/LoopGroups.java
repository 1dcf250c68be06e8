package io.rdmaraw.testsuite.socket;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Ends the loops of {@link RdmaRawSocketTestPermutation} after a test class: their memory must be whole then. */
final class LoopGroups implements AfterAllCallback {
    @Override
    public void afterAll(ExtensionContext context) {
        if (context.getRequiredTestClass().getEnclosingClass() == null) {
            RdmaRawSocketTestPermutation.INSTANCE.shutDown();
        }
    }
}
