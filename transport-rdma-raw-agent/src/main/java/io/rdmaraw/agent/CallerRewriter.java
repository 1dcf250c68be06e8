package io.rdmaraw.agent;

import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.Instruction;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.instruction.ConstantInstruction.LoadConstantInstruction;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.StackInstruction;
import java.lang.classfile.instruction.TypeCheckInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.constant.DynamicCallSiteDesc;
import java.lang.constant.MethodHandleDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Rewrites a class that refers to the channel classes of Netty's transports. Constructor calls and constructor
 * references become dynamic calls of {@link Replacements}. Variables, parameters and results change their type to the
 * Netty interface that all channels of a kind implement. Class constants remain: Netty's channel factory replaces the
 * class when it creates a channel.
 */
final class CallerRewriter {
    /** The oldest class file version with dynamic calls. */
    private static final int OLDEST_MAJOR_VERSION = ClassFile.JAVA_7_VERSION;
    private static final ClassDesc REPLACEMENTS = Replacements.class.describeConstable().orElseThrow();

    /** Thrown if the class cannot be rewritten. */
    static final class NotRewritableException extends Exception {
        private static final long serialVersionUID = 1;

        /** Whether the class works only with channels or loops of Netty's own classes. */
        final boolean needsNettyTypes;

        NotRewritableException(String reason, boolean needsNettyTypes) {
            super(reason, null, false, false);
            this.needsNettyTypes = needsNettyTypes;
        }
    }

    /** A private method of the rewritten class that replaces a method handle in its constant pool. */
    private record Bridge(String name, MethodTypeDesc type, DynamicCallSiteDesc call) {
    }

    private final NettyNames names;
    private final ClassFile classFile;
    private final InterfaceMethods interfaceMethods;
    private final ClassModel model;
    private final List<Bridge> bridges = new ArrayList<>();
    private String refusal;

    CallerRewriter(NettyNames names, byte[] bytes, ClassHierarchyResolver hierarchy,
            InterfaceMethods interfaceMethods) {
        this.names = names;
        this.interfaceMethods = interfaceMethods;
        model = ClassFile.of().parse(bytes);
        classFile = ClassFile.of(ClassFile.ClassHierarchyResolverOption.of(resolverOfClass(model).orElse(hierarchy)));
    }

    /**
     * Returns a resolver for the class itself. A class that was generated at run time is not a resource of its class
     * loader.
     */
    private static ClassHierarchyResolver resolverOfClass(ClassModel model) {
        ClassDesc type = model.thisClass().asSymbol();
        boolean isInterface = model.flags().has(AccessFlag.INTERFACE);
        return ClassHierarchyResolver.of(isInterface ? Set.of(type) : Set.of(),
                isInterface || model.superclass().isEmpty() ? Map.of()
                        : Map.of(type, model.superclass().get().asSymbol()));
    }

    /** Returns the rewritten class, or null if there is nothing to rewrite. */
    byte[] rewrite() throws NotRewritableException {
        TypeUses uses = new TypeUses(names, model);
        if (uses.castsToLoop()) {
            throw new NotRewritableException("it casts to an event loop or an I/O handler of Netty's own", true);
        }
        if (!uses.usesChannelTypes()) {
            return null;
        }
        byte[] rewritten = null;
        ClassDesc superclass = model.superclass().map(ClassEntry::asSymbol).orElse(ConstantDescs.CD_Object);
        if (model.majorVersion() < OLDEST_MAJOR_VERSION) {
            refusal = "it was compiled for a Java before 7";
        } else if (names.kind(superclass) != null) {
            refusal = "it extends " + superclass.displayName();
        } else {
            ClassTransform rewriting = ClassTransform
                    .transformingMethodBodies(CodeTransform.ofStateful(MethodRewriter::new))
                    .andThen(ClassTransform.endHandler(builder -> bridges.forEach(bridge -> builder.withMethodBody(
                            bridge.name, bridge.type, ClassFile.ACC_PRIVATE | ClassFile.ACC_STATIC
                                    | ClassFile.ACC_SYNTHETIC, code -> addBridge(code, bridge)))));
            rewritten = ConstantPoolText.map(classFile.transformClass(model, rewriting), names::mapped);
            List<VerifyError> errors = refusal == null ? classFile.verify(rewritten) : List.of();
            if (!errors.isEmpty()) {
                refusal = "it depends on Netty's own class: " + errors.getFirst().getMessage().lines()
                        .findFirst().orElse("");
            }
        }
        if (refusal != null) {
            throw new NotRewritableException(refusal, uses.needsNettyTypes());
        }
        return rewritten;
    }

    private void refuse(String reason) {
        if (refusal == null) {
            refusal = reason;
        }
    }

    private static void addBridge(CodeBuilder code, Bridge bridge) {
        int slot = 0;
        for (ClassDesc parameter : bridge.type.parameterList()) {
            TypeKind kind = TypeKind.from(parameter);
            code.loadLocal(kind, slot);
            slot += kind.slotSize();
        }
        code.invokedynamic(bridge.call).areturn();
    }

    // ---- dynamic calls ----

    private DynamicCallSiteDesc call(String name, MethodTypeDesc type, String... constants) {
        List<ConstantDesc> arguments = new ArrayList<>(List.of(constants));
        arguments.add(names.nettyPackage());
        DirectMethodHandleDesc bootstrap = ConstantDescs.ofCallsiteBootstrap(REPLACEMENTS, name,
                ConstantDescs.CD_CallSite, arguments.stream().map(constant -> ConstantDescs.CD_String)
                        .toArray(ClassDesc[]::new));
        return DynamicCallSiteDesc.of(bootstrap, name, type, arguments.toArray(ConstantDesc[]::new));
    }

    private DynamicCallSiteDesc construct(ClassDesc original, MethodTypeDesc constructor) {
        return call("construct", mapped(constructor).changeReturnType(names.mapped(original)), binaryName(original),
                constructor.descriptorString());
    }

    private MethodTypeDesc mapped(MethodTypeDesc type) {
        return MethodTypeDesc.of(names.mapped(type.returnType()),
                type.parameterList().stream().map(names::mapped).toList());
    }

    private static String binaryName(ClassDesc type) {
        return type.packageName() + "." + type.displayName();
    }

    private boolean isChannel(ClassDesc type) {
        return names.kind(type) != null;
    }

    /** Rewrites the body of a method. */
    private final class MethodRewriter implements CodeTransform {
        /**
         * Set after a {@code new} instruction was removed: the next instruction must be the duplication of its result.
         */
        private boolean expectsDup;
        /** Number of removed {@code new} instructions with an outstanding constructor call. */
        private int pendingConstructors;

        @Override
        public void accept(CodeBuilder code, CodeElement element) {
            if (expectsDup && element instanceof Instruction instruction) {
                expectsDup = false;
                if (!(instruction instanceof StackInstruction) || instruction.opcode() != Opcode.DUP) {
                    refuse("it makes a channel or a group in an unusual way");
                }
            }
            switch (element) {
                case NewObjectInstruction made when isChannel(made.className().asSymbol()) -> {
                    // The dynamic call returns the object only after its arguments were pushed. Null takes the place of
                    // the uninitialized object.
                    expectsDup = true;
                    pendingConstructors++;
                    code.aconst_null();
                }
                case InvokeInstruction call -> rewriteCall(code, call);
                case InvokeDynamicInstruction call -> rewriteHandles(code, call);
                case LoadConstantInstruction load when load.constantEntry() instanceof ClassEntry type
                        && isChannel(type.asSymbol()) -> {
                    code.invokedynamic(call("type", MethodTypeDesc.of(ConstantDescs.CD_Class),
                            binaryName(type.asSymbol())));
                }
                case TypeCheckInstruction check when check.opcode() == Opcode.INSTANCEOF
                        && isChannel(check.type().asSymbol()) -> {
                    code.invokedynamic(call("isInstance", MethodTypeDesc.of(ConstantDescs.CD_boolean,
                            ConstantDescs.CD_Object), binaryName(check.type().asSymbol())));
                }
                default -> code.with(element);
            }
        }

        private void rewriteCall(CodeBuilder code, InvokeInstruction call) {
            ClassDesc owner = call.owner().asSymbol();
            String name = call.name().stringValue();
            MethodTypeDesc type = call.typeSymbol();
            if (call.opcode() == Opcode.INVOKESPECIAL && name.equals(ConstantDescs.INIT_NAME) && isChannel(owner)
                    && pendingConstructors > 0) {
                pendingConstructors--;
                code.invokedynamic(construct(owner, type)).swap().pop().swap().pop();
            } else if (call.opcode() == Opcode.INVOKEVIRTUAL && isChannel(owner)) {
                ClassDesc common = names.interfaceOf(names.kind(owner));
                if (interfaceMethods.has(common, name, type.descriptorString())) {
                    code.invokeinterface(common, name, type);
                } else {
                    refuse("it calls " + owner.displayName() + "." + name + ", which only that class has");
                    code.with(call);
                }
            } else {
                requireUnmapped(owner, type);
                code.with(call);
            }
        }

        /** Rejects calls of methods of Netty's transports with a mapped type: those classes are not rewritten. */
        private void requireUnmapped(ClassDesc owner, MethodTypeDesc type) {
            if (names.kind(owner) == null && names.isTransport(binaryName(owner)) && !mapped(type).equals(type)) {
                refuse("it calls a method of " + owner.displayName() + " that wants Netty's own class");
            }
        }

        /**
         * Rewrites constructor references and factories, which are method handles among the arguments of a dynamic
         * call.
         */
        private void rewriteHandles(CodeBuilder code, InvokeDynamicInstruction call) {
            ConstantDesc[] arguments = call.bootstrapArgs().stream().map(this::rewriteHandle)
                    .toArray(ConstantDesc[]::new);
            code.invokedynamic(DynamicCallSiteDesc.of(call.bootstrapMethod(), call.name().stringValue(),
                    call.typeSymbol(), arguments));
        }

        private ConstantDesc rewriteHandle(ConstantDesc argument) {
            if (!(argument instanceof DirectMethodHandleDesc handle)) {
                return argument;
            }
            ClassDesc owner = handle.owner();
            if (handle.kind() == DirectMethodHandleDesc.Kind.CONSTRUCTOR && isChannel(owner)) {
                return bridge(construct(owner, MethodTypeDesc.ofDescriptor(handle.lookupDescriptor())));
            }
            if (handle.kind() == DirectMethodHandleDesc.Kind.VIRTUAL && isChannel(owner)) {
                ClassDesc common = names.interfaceOf(names.kind(owner));
                if (interfaceMethods.has(common, handle.methodName(), handle.lookupDescriptor())) {
                    return MethodHandleDesc.of(DirectMethodHandleDesc.Kind.INTERFACE_VIRTUAL, common,
                            handle.methodName(), handle.lookupDescriptor());
                }
                refuse("it refers to " + owner.displayName() + "::" + handle.methodName());
            }
            return argument;
        }

        private DirectMethodHandleDesc bridge(DynamicCallSiteDesc call) {
            Bridge bridge = new Bridge("rdmaraw$" + bridges.size(), call.invocationType(), call);
            bridges.add(bridge);
            return MethodHandleDesc.of(model.flags().has(AccessFlag.INTERFACE)
                    ? DirectMethodHandleDesc.Kind.INTERFACE_STATIC : DirectMethodHandleDesc.Kind.STATIC,
                    model.thisClass().asSymbol(), bridge.name, bridge.type.descriptorString());
        }
    }
}
