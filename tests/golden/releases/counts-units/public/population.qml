<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis version="3.22" styleCategories="Symbology">
  <renderer-v2 type="graduatedSymbol" attr='"population" / ($area / 1000000)' symbollevels="0"
      graduatedMethod="GraduatedColor" enableorderby="0" forceraster="0">
    <ranges>
      <range lower="0" upper="0" symbol="8" label="0" render="true"/>
      <range lower="0" upper="10" symbol="0" label="below 10 per km²" render="true"/>
      <range lower="10" upper="30" symbol="1" label="10 to 30 per km²" render="true"/>
      <range lower="30" upper="100" symbol="2" label="30 to 100 per km²" render="true"/>
      <range lower="100" upper="300" symbol="3" label="100 to 300 per km²" render="true"/>
      <range lower="300" upper="1000" symbol="4" label="300 to 1,000 per km²" render="true"/>
      <range lower="1000" upper="3000" symbol="5" label="1,000 to 3,000 per km²" render="true"/>
      <range lower="3000" upper="10000" symbol="6" label="3,000 to 10,000 per km²" render="true"/>
      <range lower="10000" upper="1.15292150461e+18" symbol="7" label="10,000 or more per km²" render="true"/>
    </ranges>
    <symbols>
      <symbol type="fill" name="0" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="241,96,93,255"/><prop k="style" v="solid"/><prop k="outline_color" v="180,180,185,255"/><prop k="outline_width" v="0.1"/></layer></symbol>
      <symbol type="fill" name="1" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="216,69,108,255"/><prop k="style" v="solid"/><prop k="outline_color" v="180,180,185,255"/><prop k="outline_width" v="0.1"/></layer></symbol>
      <symbol type="fill" name="2" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="183,55,121,255"/><prop k="style" v="solid"/><prop k="outline_color" v="180,180,185,255"/><prop k="outline_width" v="0.1"/></layer></symbol>
      <symbol type="fill" name="3" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="148,44,128,255"/><prop k="style" v="solid"/><prop k="outline_color" v="180,180,185,255"/><prop k="outline_width" v="0.1"/></layer></symbol>
      <symbol type="fill" name="4" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="115,32,129,255"/><prop k="style" v="solid"/><prop k="outline_color" v="180,180,185,255"/><prop k="outline_width" v="0.1"/></layer></symbol>
      <symbol type="fill" name="5" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="82,19,124,255"/><prop k="style" v="solid"/><prop k="outline_color" v="180,180,185,255"/><prop k="outline_width" v="0.1"/></layer></symbol>
      <symbol type="fill" name="6" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="47,17,99,255"/><prop k="style" v="solid"/><prop k="outline_color" v="180,180,185,255"/><prop k="outline_width" v="0.1"/></layer></symbol>
      <symbol type="fill" name="7" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="18,13,49,255"/><prop k="style" v="solid"/><prop k="outline_color" v="180,180,185,255"/><prop k="outline_width" v="0.1"/></layer></symbol>
      <symbol type="fill" name="8" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="247,247,249,255"/><prop k="style" v="solid"/><prop k="outline_color" v="180,180,185,255"/><prop k="outline_width" v="0.1"/></layer></symbol>
    </symbols>
  </renderer-v2>
</qgis>
