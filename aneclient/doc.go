// Package aneclient is the request-level client of the engine: one model, one request, one chain at a time, on memory of the
// caller, as Apple's private classes have it. It is for who works on the engine itself; to run models, take package espalier.
//
//	c, err := aneclient.SharedConnection()
//	d, err := aneclient.NewDescriptor(milText, weights, nil)
//	m := c.InMemoryModel(d)
//	err = m.Compile(ctx, aneclient.QoSDefault, aneclient.Options{})
//	err = m.Load(ctx, aneclient.QoSDefault, aneclient.Options{})
//	err = m.Evaluate(ctx, aneclient.QoSDefault, aneclient.NewRequest(inputs, []int{0}, outputs, []int{0}, nil, nil, 0))
//	err = m.PrepareChaining(&aneclient.ChainingRequest{…}, aneclient.QoSDefault)
//
// The classes are those that the chaining research has looked at. What was blocked there works here; docs/research.md has its
// experiments, with the results there and here. A selector and what it is here:
//
//	_ANEClient                        Client
//	  sharedConnection                SharedConnection Connect
//	  compileModel: loadModel: unloadModel:   Model.Compile Model.Load Model.Unload
//	  compiledModelExistsFor: purgeCompiledModel:   Model.CompiledModelExists Model.Purge
//	  loadModelNewInstance:           Model.NewInstance
//	  evaluateWithModel:              Model.Evaluate Model.EvaluateAsync
//	  evaluateRealTimeWithModel:      Model.EvaluateRealTime
//	  doEvaluateDirectWithModel:      Model.EvaluateDirect
//	  beginRealTimeTask endRealTimeTask   Client.BeginRealTimeTask Client.EndRealTimeTask
//	  prepareChainingWithModel: doPrepareChainingWithModel:   Model.PrepareChaining
//	  enqueueSetsWithModel:           Model.EnqueueSets
//	  buffersReadyWithModel:          Model.BuffersReady Model.ExecuteChain
//	ANE_ProgramChainingSetActiveProcedure   Model.SetActiveProcedure
//	_ANEInMemoryModelDescriptor       ModelDescriptor
//	  modelWithMILText:weights:optionsPlist:   NewDescriptor ParseOptions Options
//	  hexStringIdentifier             ModelDescriptor.HexStringIdentifier
//	_ANEInMemoryModel                 Model
//	  inMemoryModelWithDescriptor:    Client.InMemoryModel
//	  compileWithQoS: loadWithQoS: evaluateWithQoS: unloadWithQoS:   Model.Compile Model.Load Model.Evaluate Model.Unload
//	  hexStringIdentifier programHandle program   Model.HexStringIdentifier Model.ProgramHandle Model.Program
//	  perfStatsMask                   Model.StatsMask Model.SetStatsMask
//	  saveModelFiles localModelPath   Model.SaveModelFiles Model.LocalModelPath
//	  mapIOSurfacesWithRequest:       Mapper.Map
//	_ANEModel                         Model
//	  modelAtURL:key:                 Client.ModelAtURL
//	  getUUID state                   Model.UUID Model.State
//	  setProgram: setProgramHandle:   Model.SetProgram
//	  mapper                          Model.Mapper
//	  modelAttributes                 Model.Attributes
//	  procedureInfoForProcedureIndex: procedureCount   Model.ProcedureInfo Model.ProcedureCount
//	  inputSymbolIndicesForProcedureIndex:    Model.InputSymbolIndices Model.InputSymbolNames
//	  outputSymbolIndicesForProcedureIndex:   Model.OutputSymbolIndices Model.OutputSymbolNames
//	_ANEProgramForEvaluation          Program
//	  programHandle intermediateBufferHandle queueDepth   Program.Handle Program.IntermediateBufferHandle Program.QueueDepth
//	  processRequest:                 Program.ProcessRequest
//	_ANERequest                       Request
//	  requestWithInputs:              NewRequest
//	  sharedEvents transactionHandle  Request.SharedEvents Request.TransactionHandle
//	_ANEIOSurfaceObject               IOSurfaceObject IOSurface
//	  objectWithIOSurface: startOffset   IOSurface.Object IOSurfaceObject.StartOffset
//	_ANEBuffer                        Buffer Agent
//	  bufferWithIOSurfaceObject:symbolIndex:source:   NewBuffer
//	_ANEProgramIOSurfacesMapper       Mapper
//	  mapperWithProgramHandle: mapperWithController:   Model.Mapper MapperWithController
//	  mapIOSurfacesWithModel: unmapIOSurfacesWithModel:   Mapper.Map Mapper.Unmap
//	  validateRequest:model:          Mapper.Validate Model.Validate
//	_ANEIOSurfaceOutputSets           OutputSets
//	  objectWithstatsSurRef:outputBuffer:   NewOutputSets
//	_ANEInputBuffersReady             InputBuffersReady
//	_ANEOutputSetEnqueue              OutputSetEnqueue
//	_ANEChainingRequest               ChainingRequest
//	  validate                        ChainingRequest.Validate
//	_ANEModelInstanceParameters       InstanceParameters
//	_ANEDeviceController              DeviceController
//	  controllerWithProgramHandle:    Model.DeviceController
//	_ANEQoSMapper                     PriorityForQoS QoSForPriority
//	_ANEPerformanceStats              PerformanceStats Counter StatsBuffer
//	  hwExecutionTime performanceCounters   PerformanceStats.HWExecutionTime PerformanceStats.Counters
//	_ANESharedEvents                  SharedEvents
//	_ANESharedSignalEvent             SharedSignalEvent
//	  signalEventWithValue:symbolIndex:eventType:sharedEvent:   NewSignalEvent
//	_ANESharedWaitEvent               SharedWaitEvent
//	  waitEventWithValue:sharedEvent: NewWaitEvent
//	MTLSharedEvent IOSurfaceSharedEvent   SharedEvent Client.NewSharedEvent
//
// The package stands on internal/driver, which stands for the kernel; it knows nothing of commands or tasks.
package aneclient
